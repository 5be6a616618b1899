/** The form for web pages: importing this defines `<halftruth-form>`. */

import { HalftruthForm } from "./element.js";

export { attach } from "./attach.js";
export { HalftruthForm };

if (!customElements.get("halftruth-form")) customElements.define("halftruth-form", HalftruthForm);
