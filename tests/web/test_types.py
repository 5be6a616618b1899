"""Types of the element, and what its manifest says: right uses compile, wrong ones do not."""

import json
import re
import subprocess

from installed import module

from .conftest import CLIENT

FORM = CLIENT / "halftruth_client/js/form"

SOURCES = {
    "plain.ts": """\
import type {} from "halftruth-client/form";
const form = document.querySelector("halftruth-form")!;
form.maxGamma = 19;
form.digests = ["0a", "0b"];
form.invitation = null;
const given: string = form.maxGamma;
form.addEventListener("submitted", ({ detail }) => {
  const { id, status }: { id: string; status: "accepted" | "duplicate" | "waiting" } = detail;
  // @ts-expect-error No event holds an answer.
  detail.answers;
});
form.addEventListener("refused", ({ detail }) => void (detail.message satisfies string));
form.addEventListener("language", ({ detail }) => void (detail.direction satisfies "ltr" | "rtl"));
form.addEventListener("click", (event) => void event.clientX);
// @ts-expect-error A status is no number.
form.addEventListener("submitted", ({ detail }) => void (detail.status satisfies number));
// @ts-expect-error
form.addEventListener("submitted", (event: CustomEvent<{ answers: string }>) => undefined);
// @ts-expect-error It asks what was drawn, or all.
form.ask = "some";
// @ts-expect-error There is no such setting.
form.gamma = 19;
""",
    "surveyjs.ts": """\
import { connect } from "halftruth-client/surveyjs";
import { Model } from "survey-core";
const map = { smoker: { name: "smoker", answers: { 1: "yes" } } };
const settings = { collector: "", survey: "", map };
connect(new Model({}), { ...settings, maxGamma: 19 }).then((survey) => survey.schema.names);
// @ts-expect-error No limit.
connect(new Model({}), settings);
""",
    "react.tsx": """\
/** @jsxImportSource react */
import "halftruth-client/react";
export const right = <halftruth-form survey="health" max-gamma={19} lang="de" className="wide"
  ref={(form) => void form?.maxGamma} onsubmitted={({ detail }) => void detail.status} />;
""",
    "preact.tsx": """\
/** @jsxImportSource preact */
import "halftruth-client/preact";
export const right = <halftruth-form survey="health" max-gamma="19" lang="de" class="wide"
  onsubmitted={({ detail }) => void detail.status} />;
""",
    "solid.tsx": """\
/** @jsxImportSource solid-js */
import "halftruth-client/solid";
export const right = <halftruth-form survey="health" max-gamma={19} lang="de" class="wide"
  on:submitted={({ detail }) => void detail.status} />;
""",
    "svelte.ts": """\
import "halftruth-client/svelte";
import type { SvelteHTMLElements } from "svelte/elements";
type Form = SvelteHTMLElements["halftruth-form"];
export const right: Form = { survey: "health", "max-gamma": 19, class: "wide",
  onsubmitted: ({ detail }) => void detail.status };
""",
    "vue.ts": """\
import "halftruth-client/vue";
import type { GlobalComponents } from "vue";
type Form = InstanceType<GlobalComponents["halftruth-form"]>["$props"];
export const right: Form = { survey: "health", "max-gamma": 19, class: "wide",
  onSubmitted: ({ detail }) => void detail.status };
""",
}

#: No limit, settings that there are none of, and details that no event holds.
WRONG_JSX = """\
// @ts-expect-error
export const unlimited = <halftruth-form survey="health" />;
// @ts-expect-error
export const capital = <halftruth-form survey="health" maxGamma="19" />;
// @ts-expect-error
export const asked = <halftruth-form survey="health" max-gamma="19" ask="some" />;
// @ts-expect-error
export const heard = <halftruth-form survey="health" max-gamma="19" LISTENER={PEEK} />;
"""
WRONG_PROPS = """\
// @ts-expect-error
export const unlimited: Form = { survey: "health" };
// @ts-expect-error
export const capital: Form = { survey: "health", maxGamma: "19" };
// @ts-expect-error
export const asked: Form = { survey: "health", "max-gamma": "19", ask: "some" };
// @ts-expect-error
export const heard: Form = { survey: "health", "max-gamma": "19", LISTENER: PEEK };
"""
LISTENERS = {"solid.tsx": "on:submitted", "vue.ts": "onSubmitted"}


def test_types_of_the_element_hold_in_scripts_and_in_every_framework(tmp_path):
    tsc = module("vue").parent / ".bin/tsc"
    (tmp_path / "node_modules").symlink_to(CLIENT / "node_modules")
    for name, source in SOURCES.items():
        wrong = WRONG_JSX if name.endswith("x") else WRONG_PROPS
        more = wrong.replace("LISTENER", LISTENERS.get(name, "onsubmitted"))
        more = (
            ""
            if name in ("plain.ts", "surveyjs.ts")
            else more.replace("PEEK", "({ detail }) => detail.answers")
        )
        (tmp_path / name).write_text(source + more, encoding="utf-8")
    frameworks = {
        f"halftruth-client/{file.name.split('.')[0]}": [str(file)]
        for file in (CLIENT / "frameworks").iterdir()
    }
    assert len(frameworks) == 5
    options = {
        "strict": True,
        "noEmit": True,
        "allowJs": True,
        "target": "ES2022",
        "module": "ESNext",
        "moduleResolution": "bundler",
        "jsx": "preserve",
        "lib": ["ES2022", "DOM", "DOM.Iterable"],
        "types": [],
        "skipLibCheck": True,
        "paths": {
            "halftruth-client/form": [str(FORM / "index.js")],
            "halftruth-client/surveyjs": [str(FORM.parent / "surveyjs/index.js")],
            **frameworks,
        },
    }
    config = {"compilerOptions": options, "files": list(SOURCES)}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    ran = subprocess.run([tsc], capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=60)
    assert ran.returncode == 0, ran.stdout


def test_the_manifest_for_editors_and_the_manual_name_what_the_element_has(node):
    manifest = json.loads((CLIENT / "custom-elements.json").read_text(encoding="utf-8"))
    modules = {module["path"]: module for module in manifest["modules"]}
    assert all((CLIENT / path).is_file() for path in modules)
    [element] = modules["halftruth_client/js/form/element.js"]["declarations"]
    names = {
        kind: [each["name"] for each in element[kind]]
        for kind in ("attributes", "members", "events", "cssParts", "cssProperties")
    }
    program = """
        import { HalftruthForm } from "./element.js";
        import { PARTS } from "./dom.js";
        import { ATTRIBUTES } from "./properties.js";
        const has = [ATTRIBUTES, PARTS.map(([part]) => part), HalftruthForm.observedAttributes];
        console.log(JSON.stringify(has));"""
    ran = subprocess.run(
        [node, "--input-type=module", "--eval", program],
        capture_output=True,
        encoding="utf-8",
        cwd=FORM,
        timeout=60,
    )
    attributes, parts, observed = json.loads(ran.stdout)
    assert sorted(names["attributes"]) == sorted(observed)
    assert names["cssParts"] == parts
    assert {member["attribute"]: member["name"] for member in element["members"]} == attributes
    fields = {each["name"]: each["fieldName"] for each in element["attributes"]}
    assert fields == attributes | {"lang": "lang"}
    sources = [file.read_text(encoding="utf-8") for file in FORM.glob("*.js")]
    told = {name for source in sources for name in re.findall(r'this\.tell\("(\w+)"', source)}
    assert set(names["events"]) == told
    themed = re.findall(r"var\((--halftruth-[\w-]+)", (FORM / "style.js").read_text("utf-8"))
    assert sorted(names["cssProperties"]) == sorted(themed)
    # Types, and the manual.
    types = (FORM / "types.d.ts").read_text(encoding="utf-8")
    typed = re.findall(r"^  (\w+): CustomEvent", types, re.M)
    assert sorted(typed) == sorted(told)
    manual = (CLIENT.parent / "docs" / "embedding.md").read_text(encoding="utf-8")
    [table, *_] = manual.split("\n\n| attribute")[1].split("\n\n")
    table = re.findall(r"^\| `([\w-]+)` \|", table, re.M)
    assert sorted(table) == sorted(names["attributes"])
    typed = re.findall(r"^  \"?([\w-]+)\"?\??: ", types.partition("interface Properties")[0], re.M)
    assert sorted(["lang", *typed]) == sorted(names["attributes"])
    for name in [*observed, *told, *parts, *(name.removeprefix("--halftruth") for name in themed)]:
        assert re.search(rf"`(--halftruth)?{name}`", manual), name
