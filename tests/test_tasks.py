"""The things to try with each preset: none is done at the start, each can be done, and the figure notices."""

import pytest
from browsing import visit
from live import page as live_page

from hmlib import Playground
from hmlib.live import links, source
from hmlib.live.playground import presets

DONE = {  # one way each, in the order of the list
    "triangle": [
        "tokens=1,1_0.5,-0.5_-1,-1_1.5,2_0.14415961271963373,0.9486494471372439_-0.6881685479895145,-0.5766735510274243_-0.17229740617955824,-0.5908008636308387_0.3,-0.2_0.1,-0.2",
        "tokens=1,1_0.5,-0.5_-1,-1_0.5118216247002567,0.9504636963259353_0.14415961271963373,0.9486494471372439_-0.6881685479895145,-0.5766735510274243_0.63,-1.19_0.3,-0.2_0.1,-0.2",
        "tokens=1,1_0.5,-0.5_-1,-1_0.5118216247002567,0.9504636963259353_0.14415961271963373,0.9486494471372439_-0.55,0.12_-0.17229740617955824,-0.5908008636308387_0.3,-0.2_2,0.5",
    ],
    "emerging leader": [
        "tokens=1,1/3_0,-1.5_-1,-1_0,0.25_-0.3,-0.7_-0.8,-0.1_0.8,0.1_0.6,0.15",
        "alpha=2/9",
        "tokens=1,1/3_-1/12,1/12_-1,-1_0,0.25_-0.3,-0.7_-0.6,-0.9_0.63,-1.19_0.6,0.15",
    ],
    "square": [
        "tokens=1,1_-1,1_-1,-1_1,-1_0.049593687673059494,-0.47244088675693163_0.2535131086748066,0.03814331321927822_-0.17026828350090784,0.2884287034284043_-0.19680517070835502,-0.046502110519348494_-0.36595830275283525,-0.09688701355287077_0,-1.5",
        "tokens=-0.22,-0.91_-1,1_-1,-1_-0.63,-0.27_0.049593687673059494,-0.47244088675693163_0.2535131086748066,0.03814331321927822_-0.17026828350090784,0.2884287034284043_-0.19680517070835502,-0.046502110519348494_-0.36595830275283525,-0.09688701355287077_-0.2965447593238504,-0.2376866595581505",
        "tokens=1,1_-1,1_-1,-1_1,-1_-0,0.22_0.2535131086748066,0.03814331321927822_-1,0.5_-0.19680517070835502,-0.046502110519348494_-0.36595830275283525,-0.09688701355287077_-0.2965447593238504,-0.2376866595581505",
    ],
    "edges": [
        "tokens=-2,-1.5_-1,1_-1,-1_1,-1_-0.5,0_0.5,0_0.2503646726300526,-0.21959124201396008_-0.014809025568364942,0.48073719980123863_0.46165719366378677,0.22478994077353365_0.041226855547434216,-0.22310879595462918",
        "tokens=1,1_-1,1_-1,-1_1,-1_-0.5,0_0.5,0_0,1_-0.014809025568364942,0.48073719980123863_0.46165719366378677,0.22478994077353365_0.041226855547434216,-0.22310879595462918",
        "tokens=1,1_-1,1_-1,-1_1,-1_-1,-1_0.5,0_0.2503646726300526,-0.21959124201396008_-0.014809025568364942,0.48073719980123863_0.46165719366378677,0.22478994077353365_0.041226855547434216,-0.22310879595462918",
    ],
    "the rule": [
        "tokens=1.5,1_3,-1_1,-3_3.5,1_-1,1.5_-2,-1",
        "tokens=1,-1_0,0_1,-3_3.5,1_-1,1.5_-2,-1",
        "tokens=-3.5,-1_3,-1_1,-3_3.5,1_-1,1.5_-2,-1",
    ],
    "hidden corner": [
        "tokens=-1.1,0.5_-0.3,-1.2_2,-0.2_-0.06,1.14",
        "tokens=-1.1,0.5_-0.3,-1.2_0.5,0.5_0.8,0.8",
        "tokens=-1.1,0.5_-0.3,-1.2_2,-0.2_-0.06,1.14",
    ],
    "comb of windows": [
        "alpha=2/9",
        "alpha=2/7",
        "tokens=7,-6_-9,4_0.5,0.5_12,8",
    ],
    "moved by a millionth": [
        "tokens=1,1_-1,1_-1,-1_1,-1_0,1_-0.5,-1e-06",
        "tokens=1,1_-1,1_-1,-1_1.5,2_0.5,1e-06_-0.5,-1e-06",
        "tokens=1,1_-1,1_0.26,1.11_1,-1_-0.5,2_-0.5,-1e-06",
    ],
    "a tie that breaks": [
        "tokens=2,1_1,-1_1.25,-0.45",
        "tokens=2,1_1,-1_1,-1",
        "tokens=2,1_1,-1_1,-1",
    ],
    "a tie of moving tokens": [
        "tokens=-0.11,-3.51_3,2_-1,2_1,2_0,1",
        "tokens=-3,2_3,2_-1,2_1,2_2,-1",
        "tokens=-0.11,-3.51_3,2_-1,2_1,2_0,1",
    ],
    "a tie out of balance": [
        "tokens=-3,2_3,2_-3.26,-2.41_0,-1_0,1",
        "tokens=-3,2_3,2_-2,2_1,2_3,-2",
        "tokens=-3,2_-1.54,2.1_-2,2_-1.17,1.54_0,1",
    ],
    "zero that stays": [
        "tokens=-0.28,0.69_1,0_-1,0",
        "tokens=-0.28,0.69_1,0_-1,0",
        "tokens=0,0_1,0_-1,0_0,-0",
    ],
    "zero that goes": [
        "A=0.32,0.74,1.92",
        "tokens=0.2,-0.47_1,0_0,1",
        "A=0.32,0.74,1.92",
    ],
    "copies": [
        "tokens=0,-1_2,1_1,0_2,1_2,-1",
        "tokens=-1,-1_2,1_1,0_2,1_2,-1",
        "tokens=1,0_2,1_1,0_2,1_0.7,0.7",
    ],
    "far from 0": [
        "tokens=6.13,1.87_6.64,2.1_5.46,2.36_7.3,2.95_5.3,0.73_5.38,2.04_3.67,1.78_4.75,1.27_5.46,1.68_6.41,3.04_-1,-1.5_5.33,2.35_6.9,2.09_5.26,1.08_5.54,2.22_4.99,1.79_5.84,2.54_6.21,2.36_5.35,1.87_6.78,3.49_4.74,3.51_7.35,2.78_6.26,1.69_7.46,3.96_-1,-0.5_6.36,0.79_6,2.66_4.71,2.4_6.43,2.7_4.82,1.34",
        "tokens=6.13,1.87_6.64,2.1_5.46,2.36_7.3,2.95_5.3,0.73_5.38,2.04_3.67,1.78_4.75,1.27_-2.54,-5.95_6.41,3.04_5.87,3.37_5.33,2.35_6.9,2.09_5.26,1.08_5.54,2.22_4.99,1.79_5.84,2.54_6.21,2.36_5.35,1.87_6.78,3.49_4.74,3.51_7.35,2.78_6.26,1.69_7.46,3.96_7.8,3.32_6.36,0.79_6,2.66_4.71,2.4_6.43,2.7_4.82,1.34",
        "A=0.78,-1.35,2.98",
    ],
    "shrinking hull": [
        "tokens=-2.2,0.4_-2,1_3.2,2_3.5,-0.1_0.2,2.6_1.5,2.8_-2.1,0_-1.6,-0.5_0.3,-1.8_1,-3_3.1,-1_0.3,-0.6_-0.3,0.9",
        "tokens=-2.2,0.4_5,0.5_3.2,2_3.5,-0.1_0.2,2.6_1.5,2.8_-2.1,0_-1.6,-0.5_0.3,-1.8_1,-2_3.1,-1_0.3,-0.6_-0.3,0.9",
        "alpha=0.05",
    ],
}


@pytest.mark.parametrize("name", presets())
def test_the_figure_notices_what_is_done(browser, tmp_path, name):
    page, wrong = visit(browser, live_page(tmp_path, Playground(name)))
    tasks = page.locator(".hm-tasks li")
    tasks.nth(2).wait_for()
    page.locator(".hm-status", has_text="certified)").wait_for()
    assert page.locator(".hm-done").count() == 0
    assert tasks.all_inner_texts() == [
        "\u2610" + x["say"] for x in presets()[name]["try"]
    ]
    for k, way in enumerate(DONE[name]):
        body = f"play={name.replace(' ', '-')}&{way}"
        page.evaluate(
            "hash => (location.hash = hash)", f"{body}&sum={links.check_sum(body)}"
        )
        done = tasks.nth(k).filter(has_text="Done.")
        done.wait_for()
        assert done.inner_text().startswith("\u2611")
    assert wrong == []
    page.context.close()


# What a task asks for, and when it counts

FOUR = """
  const end = { certified: true, leaders: [0, 2], born: [0, 3], follows: [0, 0, 2, -1],
    tokens: [[1], [1], [2], [1.5]], settledAt: 5 };
  const course = { end, inverse: [0, 1, 2, 3] };
"""
ASKED = {  # of four tokens: 1 leads at once, 3 later, 2 joins 1, and 4 ends between
    "leads: 1": True,
    "leads: 2": False,
    "trails: 2": True,
    "at_once: 1": True,
    "at_once: 3": False,
    "later: 3": True,
    "later: 1": False,
    "later: 2": False,
    "joins: [2, 1]": True,
    "joins: [2, 3]": False,
    "no_vertex: 4": True,
    "apart: [1, 4]": True,
    "apart: [1, 2]": False,
    "trails: 5": False,
    "leads: 1, trails: 1": False,
    "leads: 1, trails: 2": True,
}


@pytest.fixture
def tasks(browser):
    """Runs JavaScript beside tasks.js, as H."""
    page = browser.new_page()
    open_ = "const H = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));"

    def run(code):
        return page.evaluate(
            f"async (source) => {{ {open_} {code} }}", source("tasks.js")
        )

    yield run
    page.close()


def test_a_task_holds_if_all_that_it_asks_is_so_and_certain(tasks):
    asked = ", ".join(f"{{ {when} }}" for when in ASKED)
    code = f"{FOUR} return [{asked}].map((when) => H.isDone(when, {{ course }}));"
    assert tasks(code) == [*ASKED.values()]
    unsure = code.replace("certified: true", "certified: false")
    assert not any(tasks(unsure))


def test_a_copy_of_a_leader_leads(tasks):
    code = FOUR.replace("inverse: [0, 1, 2, 3]", "inverse: [0, 0, 2, 3]")
    assert tasks(f"{code} return H.isDone({{ leads: 2 }}, {{ course }});")


def test_what_is_done_counts_once_something_has_changed_and_stays(tasks):
    """Until another preset is chosen."""
    assert tasks(f"""{FOUR}
      const one = {{ tokens: [[1, 0]], alpha: 1, A: null, try: [{{ when: {{ leads: 1 }}, say: "a" }}] }};
      const presets = {{ one, other: one }};
      const state = {{ preset: "one", tokens: [[1, 0]], alpha: 1, A: null, course }};
      const list = H.taskList(state, presets), seen = [];
      const see = (change) => {{
        change();
        list.update();
        seen.push(list.node.querySelectorAll(".hm-done").length);
      }};
      see(() => {{}});
      see(() => {{ state.alpha = 2; }});
      see(() => {{ end.leaders = []; }});
      see(() => {{ state.preset = "other"; state.alpha = 1; }});
      return seen;""") == [0, 1, 1, 0]
