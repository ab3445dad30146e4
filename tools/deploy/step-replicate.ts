import { z } from "zod";
import { webhookSecret } from "../../shared/platform/environment.ts";
import { DeployError } from "./deploy-error.ts";
import type { Deployment, Step } from "./step.ts";

const PATIENCE_MS = 20_000;
const TOKENS_PAGE = "https://replicate.com/account/api-tokens";
const keyed = z.object({ key: webhookSecret });

/** The token is good, and with it the secret that Replicate signs its callbacks with. */
export const replicateStep: Step = {
  name: "Replicate",
  plan: async (deployment) => {
    const { settings, found, keeper, progress } = deployment;
    if (settings.replicate.token === undefined) {
      const { secretDigests } = found;
      if (secretDigests.has("KEYFRAME_REPLICATE_API_TOKEN") && secretDigests.has("KEYFRAME_REPLICATE_WEBHOOK_SECRET")) {
        return { says: "the project keeps its token (KEYFRAME_REPLICATE_API_TOKEN is not set here)" };
      }
      throw new DeployError(
        `Set KEYFRAME_REPLICATE_API_TOKEN: make a token at ${TOKENS_PAGE} and run the command again.`,
      );
    }
    found.signingSecret = keeper.add(
      await progress.during("asking Replicate", fetchSigningSecret(deployment, settings.replicate.token)),
    );
    return { says: "the token is accepted, its signing secret is known" };
  },
};

async function fetchSigningSecret({ settings, fetch, clock }: Deployment, token: string): Promise<string> {
  const address = `${settings.replicate.baseUrl}/webhooks/default/secret`;
  const response = await fetch(address, {
    headers: { authorization: `Bearer ${token}` },
    signal: clock.timeout(PATIENCE_MS),
  }).catch((error: unknown) => {
    throw new DeployError(
      `Replicate could not be reached (${error instanceof Error ? error.message : "no answer"}): look at your network and run the command again.`,
    );
  });
  if (response.status === 401 || response.status === 403) {
    await response.body?.cancel();
    throw new DeployError(
      `Replicate refuses KEYFRAME_REPLICATE_API_TOKEN (HTTP ${response.status}): make a new one at ${TOKENS_PAGE}.`,
    );
  }
  const answer = keyed.safeParse(await response.json().catch(() => undefined));
  if (response.ok && answer.success) return answer.data.key;
  throw new DeployError(
    `Replicate did not tell its signing secret (HTTP ${response.status}): look at https://replicatestatus.com and run the command again.`,
  );
}
