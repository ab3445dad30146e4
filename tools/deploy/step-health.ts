import type { Step } from "./step.ts";
import { waitForHealth } from "./wait-for-health.ts";

/** Every function started and answers at the address that apps use, and so does the database behind the API. */
export const healthStep: Step = {
  name: "Health",
  plan: async (deployment) => {
    const base = `${deployment.settings.clientUrl}/functions/v1`;
    return {
      says: `to ask all functions at ${base}`,
      apply: async () => {
        let waiting = "asking the functions";
        const health = waitForHealth(base, deployment, (problems) => {
          waiting = `asking again: ${problems}`;
        });
        await deployment.progress.during(() => waiting, health);
        return "well";
      },
    };
  },
};
