"""Types of the element and its manifest: valid uses compile, invalid ones do not."""

import json
import re
import subprocess

from installed import module

from .conftest import CLIENT
from .test_frameworks import BLOCKS

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
    "session.ts": """\
import { Session } from "halftruth-client/session";
const session = new Session({ collector: "", survey: "", maxGamma: 19, sendEvery: 10 });
session.addEventListener("change", () => void (session.state satisfies string));
session.addEventListener("submitted", ({ detail }) => void (detail.id satisfies string));
session.open().then((state) => {
  session.questionnaire?.set([["smoker", "yes"]]);
  // @ts-expect-error There is no such state.
  return state === "done";
});
// @ts-expect-error No event holds an answer.
session.addEventListener("refused", ({ detail }) => detail.answers);
// @ts-expect-error No limit.
new Session({ collector: "", survey: "" });
""",
    "surveyjs.ts": """\
import { connect } from "halftruth-client/surveyjs";
import { Model } from "survey-core";
const map = { smoker: { name: "smoker", answers: { 1: "yes" } } };
const settings = { collector: "", survey: "", map };
connect(new Model({}), { ...settings, maxGamma: 19 }).then(({ survey }) => survey.schema.names);
// @ts-expect-error No limit.
connect(new Model({}), settings);
""",
    "react.tsx": """\
/** @jsxImportSource react */
import "halftruth-client/form";
export const right = <halftruth-form survey="health" max-gamma={19} lang="de" className="wide"
  ref={(form) => void form?.maxGamma} />;
// @ts-expect-error No limit.
export const unlimited = <halftruth-form survey="health" />;
// @ts-expect-error There is no such setting.
export const capital = <halftruth-form survey="health" maxGamma="19" />;
// @ts-expect-error It asks what was drawn, or all.
export const asked = <halftruth-form survey="health" max-gamma="19" ask="some" />;
export const unheard = <halftruth-form survey="health" max-gamma="19"
  // @ts-expect-error It would not be heard where a server rendered the page.
  onsubmitted={() => undefined} />;
""",
    "template.vue": """\
<script setup lang="ts">
import "halftruth-client/form";
</script>
<template>
  <halftruth-form survey="health" :max-gamma="19" :operator-keys="'3d40'" lang="de" class="wide"
    @submitted="({ detail }) => void detail.status" />
  <halftruth-form survey="health" max-gamma="19" :send-every="10" ask="all" />
  <!-- @vue-expect-error No limit. -->
  <halftruth-form survey="health" />
  <!-- @vue-expect-error It asks what was drawn, or all. -->
  <halftruth-form survey="health" max-gamma="19" ask="some" />
  <!-- @vue-expect-error There is no such setting. -->
  <halftruth-form survey="health" max-gamma="19" gamma="19" />
  <!-- @vue-expect-error No event holds an answer. -->
  <halftruth-form survey="health" max-gamma="19" @submitted="({ detail }) => detail.answers" />
</template>
""",
    "Health.vue": BLOCKS["Vue"],
    "Health.tsx": BLOCKS["React"],
    "App.tsx": """\
import { Health } from "./Health";
export const right = <Health survey="health" onSubmitted={({ detail }) => void detail.status} />;
// @ts-expect-error No event holds an answer.
export const asked = <Health survey="health" onSubmitted={({ detail }) => detail.answers} />;
// @ts-expect-error No survey.
export const empty = <Health onSubmitted={() => undefined} />;
""",
}

OPTIONS = {
    "strict": True,
    "noEmit": True,
    "allowJs": True,
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "jsx": "react-jsx",
    "lib": ["ES2022", "DOM", "DOM.Iterable"],
    "types": [],
    "skipLibCheck": True,
    "paths": {
        "halftruth-client/form": [str(FORM / "index.js")],
        "halftruth-client/session": [str(FORM.parent / "session.js")],
        "halftruth-client/surveyjs": [str(FORM.parent / "surveyjs/index.js")],
    },
}


def test_element_types_hold_in_scripts_and_react_and_vue_templates(tmp_path):
    checker = module(".bin/vue-tsc")
    (tmp_path / "node_modules").symlink_to(CLIENT / "node_modules")
    for name, source in SOURCES.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    config = {
        "compilerOptions": OPTIONS,
        "vueCompilerOptions": {"strictTemplates": True},
        "files": list(SOURCES),
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    ran = subprocess.run(
        [checker], capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=240
    )
    assert ran.returncode == 0, ran.stdout


def test_the_manifest_and_the_manual_list_the_api_of_the_element(node):
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
        import { PARTS } from "./views.js";
        import { ATTRIBUTES } from "./attributes.js";
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
    themed = re.findall(r"var\((--halftruth-[\w-]+)", (FORM / "style.js").read_text("utf-8"))
    assert sorted(names["cssProperties"]) == sorted(themed)
    # Types, and the manual.
    types = (FORM / "types.d.ts").read_text(encoding="utf-8")
    told = re.findall(r"^  (\w+): CustomEvent", types, re.M)
    assert sorted(names["events"]) == sorted(told)
    manual = (CLIENT.parent / "docs" / "embedding.md").read_text(encoding="utf-8")
    [table, *_] = manual.split("\n\n| attribute")[1].split("\n\n")
    table = re.findall(r"^\| `([\w-]+)` \|", table, re.M)
    assert sorted(table) == sorted(names["attributes"])
    typed = re.findall(r"^  \"?([\w-]+)\"?\??: ", types.partition("interface Properties")[0], re.M)
    assert sorted(["lang", *typed]) == sorted(names["attributes"])
    for name in [*observed, *told, *parts, *(name.removeprefix("--halftruth") for name in themed)]:
        assert re.search(rf"`(--halftruth)?{name}`", manual), name
