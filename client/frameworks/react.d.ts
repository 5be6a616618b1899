/** `<halftruth-form>` in JSX of React; before 19, listeners are added by a ref. */

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { FormAttributes, HalftruthForm, FormListeners } from "halftruth-client/form";

export * from "halftruth-client/form";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "halftruth-form": DetailedHTMLProps<HTMLAttributes<HalftruthForm>, HalftruthForm> &
        FormAttributes &
        FormListeners<"on">;
    }
  }
}
