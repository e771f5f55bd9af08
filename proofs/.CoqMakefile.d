Model.vo Model.glob Model.v.beautified Model.required_vo: Model.v 
Model.vio: Model.v 
Model.vos Model.vok Model.required_vos: Model.v 
Geometry.vo Geometry.glob Geometry.v.beautified Geometry.required_vo: Geometry.v Model.vo
Geometry.vio: Geometry.v Model.vio
Geometry.vos Geometry.vok Geometry.required_vos: Geometry.v Model.vos
Layers.vo Layers.glob Layers.v.beautified Layers.required_vo: Layers.v Model.vo Geometry.vo
Layers.vio: Layers.v Model.vio Geometry.vio
Layers.vos Layers.vok Layers.required_vos: Layers.v Model.vos Geometry.vos
Settlement.vo Settlement.glob Settlement.v.beautified Settlement.required_vo: Settlement.v Model.vo Geometry.vo Layers.vo
Settlement.vio: Settlement.v Model.vio Geometry.vio Layers.vio
Settlement.vos Settlement.vok Settlement.required_vos: Settlement.v Model.vos Geometry.vos Layers.vos
Checker.vo Checker.glob Checker.v.beautified Checker.required_vo: Checker.v 
Checker.vio: Checker.v 
Checker.vos Checker.vok Checker.required_vos: Checker.v 
Leaders.vo Leaders.glob Leaders.v.beautified Leaders.required_vo: Leaders.v Model.vo Geometry.vo Layers.vo Settlement.vo
Leaders.vio: Leaders.v Model.vio Geometry.vio Layers.vio Settlement.vio
Leaders.vos Leaders.vok Leaders.required_vos: Leaders.v Model.vos Geometry.vos Layers.vos Settlement.vos
Convergence.vo Convergence.glob Convergence.v.beautified Convergence.required_vo: Convergence.v Model.vo Geometry.vo Layers.vo Settlement.vo Leaders.vo
Convergence.vio: Convergence.v Model.vio Geometry.vio Layers.vio Settlement.vio Leaders.vio
Convergence.vos Convergence.vok Convergence.required_vos: Convergence.v Model.vos Geometry.vos Layers.vos Settlement.vos Leaders.vos
Soundness.vo Soundness.glob Soundness.v.beautified Soundness.required_vo: Soundness.v Model.vo Geometry.vo Layers.vo Settlement.vo Checker.vo
Soundness.vio: Soundness.v Model.vio Geometry.vio Layers.vio Settlement.vio Checker.vio
Soundness.vos Soundness.vok Soundness.required_vos: Soundness.v Model.vos Geometry.vos Layers.vos Settlement.vos Checker.vos
Rationals.vo Rationals.glob Rationals.v.beautified Rationals.required_vo: Rationals.v Model.vo Checker.vo Soundness.vo
Rationals.vio: Rationals.v Model.vio Checker.vio Soundness.vio
Rationals.vos Rationals.vok Rationals.required_vos: Rationals.v Model.vos Checker.vos Soundness.vos
Extract.vo Extract.glob Extract.v.beautified Extract.required_vo: Extract.v Checker.vo Rationals.vo
Extract.vio: Extract.v Checker.vio Rationals.vio
Extract.vos Extract.vok Extract.required_vos: Extract.v Checker.vos Rationals.vos
