/* SPDX-License-Identifier: MIT */
// Python in the page needs a server: a browser loads no workers and no WebAssembly from files.
if (location.protocol === "file:") {
  addEventListener("DOMContentLoaded", () => {
    for (const link of document.querySelectorAll(".run-here a[href*=lite]")) {
      link.replaceWith("This page was opened as a file, and Python in it needs a server: "
        + "run python -m http.server in the folder of the book, and open localhost:8000.");
    }
  });
}
