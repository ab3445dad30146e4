import { FUNCTION_NAMES } from "../stack/function-arguments.ts";
import type { Step } from "./step.ts";

/** The functions, bundled by the platform (no Docker here). Uploaded each time: only the platform could tell whether they changed. */
export const functionsStep: Step = {
  name: "Functions",
  plan: async ({ cli }) => ({
    says: `to deploy: ${FUNCTION_NAMES.join(", ")}`,
    apply: async () => {
      await cli.run("deploying the functions", ["functions", "deploy", "--use-api", "--yes", ...FUNCTION_NAMES]);
      return "deployed";
    },
  }),
};
