"""The page's modules by themselves: what they write, and what they make of a form."""

import pytest

from ui_browser import Screen


@pytest.fixture(scope="module")
def page(browser, ui, tmp_path_factory):
    """One open page, whose modules can be called."""
    with Screen(browser, ui, tmp_path_factory.mktemp("modules")) as screen:
        yield screen.open("live")


def call(page, module, name, *arguments):
    """What a function of a module gives."""
    code = "async ([module, name, given]) => (await import(`/static/${module}.js`))[name](...given)"
    return page.evaluate(code, [module, name, list(arguments)])


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("count", 4_101_465, "4,101,465"),
        ("count", 0, "0"),
        ("count", None, "not known"),
        ("signed", 164, "+164"),
        ("signed", -2_836_922, "-2,836,922"),
        ("signed", 0, "0"),
        ("percent", 0.9999, "100%"),
        ("percent", 0.8742, "87.4%"),
        ("signedPercent", -0.021, "-2.1%"),
        ("plain", 0.8528645833, "0.8529"),
        ("short", 2_000_000, "2M"),
        ("bytes", 93_417_181_229, "87.00 GiB"),
        ("bytes", 1 << 30, "1.00 GiB"),
        ("bytes", (1 << 20) - 1, "1,024.00 KiB"),
        ("bytes", 12_288, "12.00 KiB"),
        ("bytes", 0, "0 B"),
        ("bytes", None, "not known"),
        ("gib", 4.38, "4.38 GiB"),
        ("anything", "catalog", "catalog"),
        ("anything", 1572.25, "1,572"),
        ("anything", None, "not known"),
        ("anything", False, "no"),
        ("words", "kv_tokens", "KV tokens"),
    ],
)
def test_a_number_is_written_with_its_unit(page, name, value, text):
    assert call(page, "format", name, value) == text


def test_an_unknown_field_says_why(page):
    fields = {"wait_s": None, "wait_s_reason": "without rates there is no clock", "other": None, "known": 0}
    assert call(page, "format", "field", fields, "wait_s") == "without rates there is no clock"
    assert call(page, "format", "field", fields, "other") == "not known"
    assert call(page, "format", "field", fields, "known") == "0"


FORM = """<form>
  <input name="model" value="M"> <input name="context" data-group="workload" value="9216">
  <input name="concurrency" data-group="workload" data-kind="number">
  <input type="checkbox" name="pair" data-kind="flag">
  <label><input type="radio" name="by" value="model" checked><input type="radio" name="by" value="launch"></label>
  <div data-shown-if="by" data-is="launch" hidden><textarea name="launch"></textarea></div>
  <select name="gpu"><option value="h200" selected>H200</option><option value="">other</option></select>
</form>"""


def form(page, address):
    """Request and address of a small form that an address has filled."""
    code = """async ([markup, address]) => {
        const { fillForm, requestOf, changedValues } = await import("/static/forms.js");
        const form = new DOMParser().parseFromString(markup, "text/html").querySelector("form");
        document.body.append(form);
        fillForm(form, new URLSearchParams(address));
        const found = [requestOf(form), changedValues(form).toString()];
        form.remove();
        return found;
    }"""
    return page.evaluate(code, [FORM, address])


def test_a_form_as_the_page_opens_has_an_empty_address(page):
    assert form(page, "") == [{"model": "M", "workload": {"context": "9216"}, "gpu": "h200"}, ""]


@pytest.mark.parametrize(
    "address",
    [
        "model=N%2FO&context=32k&concurrency=12",
        "pair=1",
        "by=launch&launch=python+-m+x+--tp+8%0A--y",
        "gpu=",
        "model=",
    ],
)
def test_an_address_gives_the_form_that_gave_it(page, address):
    assert form(page, address)[1] == address


def test_numbers_and_flags_keep_their_kinds_and_nonsense_stays_as_typed(page):
    request, _ = form(page, "concurrency=1%2C200&pair=1")
    assert request["workload"]["concurrency"] == 1200
    assert request["pair"] is True
    for typed in ("many", "0,1", "1,2,3"):
        assert form(page, f"concurrency={typed}")[0]["workload"]["concurrency"] == typed


def test_what_a_choice_hides_is_not_asked(page):
    assert "launch" not in form(page, "launch=python")[0]
    assert form(page, "by=launch&launch=python")[0]["launch"] == "python"


@pytest.mark.parametrize(
    ("flags", "chosen", "after"),
    [
        ("--tp 4 --page-size 64", "8", "--tp 8 --page-size 64"),
        ("--tp-size=4", "2", "--tp 2"),
        ("--page-size 64", "16", "--tp 16 --page-size 64"),
        ("", "2", "--tp 2"),
    ],
)
def test_the_number_of_cards_is_a_flag(page, flags, chosen, after):
    code = """async ([flags, chosen]) => {
        const { followCardCount, showCardCount } = await import("/static/card_count.js");
        const select = document.getElementById("card-count").cloneNode(true);
        const field = Object.assign(document.createElement("input"), { value: flags });
        followCardCount(select, field);
        select.value = chosen;
        select.dispatchEvent(new Event("change"));
        showCardCount(select, field);
        return [field.value, select.value];
    }"""
    assert page.evaluate(code, [flags, chosen]) == [after, chosen]


def test_an_error_is_put_beside_the_field_that_it_quotes(page):
    code = """async ([error, hint]) => {
        const { showRefusal, clearRefusal } = await import("/static/messages.js");
        const form = document.getElementById("form-plan");
        const place = document.createElement("div");
        form.elements.namedItem("context").value = "9x";
        showRefusal(form, place, { error, hint });
        const beside = [...form.querySelectorAll("[aria-invalid]")].map((field) => field.name);
        const spoken = document.getElementById("refusal-context")?.getAttribute("role") ?? null;
        clearRefusal(form);
        return [beside, spoken, place.textContent];
    }"""
    assert page.evaluate(code, ["`9x` is not a whole number of tokens", ""])[:2] == [["context"], "alert"]
    assert page.evaluate(code, ["no length is given", "give --context N"])[:2] == [["context"], "alert"]
    assert "150 GiB" in page.evaluate(code, ["150 GiB do not fit", "use more ranks"])[2]


def test_text_is_never_markup(page):
    code = """async (text) => {
        const { element } = await import("/static/dom.js");
        const node = element("p", { title: text, hidden: null }, [text, [0, null, false]]);
        return [node.children.length, node.textContent, node.title, node.hasAttribute("hidden")];
    }"""
    text = "<img src=x onerror=alert(1)>"
    assert page.evaluate(code, text) == [0, f"{text}0", text, False]


def test_quoted_words_are_set_as_code(page):
    code = """async (text) => {
        const { element, prose } = await import("/static/dom.js");
        const node = element("p", {}, prose(text));
        return [node.textContent, [...node.querySelectorAll("code")].map((each) => each.textContent)];
    }"""
    assert page.evaluate(code, "`9x` is none: write `9k`") == ["9x is none: write 9k", ["9x", "9k"]]
    assert page.evaluate(code, "a lone ` stays, <b> too") == ["a lone ` stays, <b> too", []]
