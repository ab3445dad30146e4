import type { Step } from "./step.ts";
import { waitForHealth } from "./wait-for-health.ts";

/** The API answers at the address that apps use, and its database does. */
export const healthStep: Step = {
  name: "Health",
  plan: async ({ settings, fetch }) => {
    const address = `${settings.clientUrl}/functions/v1/api/health`;
    return {
      says: `to ask ${address}`,
      apply: async () => {
        await waitForHealth(address, { fetch, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) });
        return "well";
      },
    };
  },
};
