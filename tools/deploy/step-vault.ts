import { z } from "zod";
import { webhookSecret } from "../../shared/platform/environment.ts";
import { DeployError } from "./deploy-error.ts";
import type { Deployment, Step } from "./step.ts";
import { vaultSql } from "./vault-sql.ts";

const NAMES = ["keyframe_functions_url", "keyframe_kick_secret"];
const SECRET_BYTES = 32;
const kickRow = z.object({ keyframe_kick_secret: z.string() });

/**
 * What the database needs to wake the functions: their address and the secret that signs. Written by SQL, because the CLI
 * sends `[db.vault]` only together with a pending migration.
 */
export const vaultStep: Step = {
  name: "Vault",
  plan: async (deployment) => {
    const kept = deployment.found.database?.vaultNames ?? [];
    const missing = NAMES.filter((name) => !kept.includes(name));
    const { isWrong, more } = kept.includes("keyframe_functions_url") ? await compareUrl(deployment) : RIGHT;
    const changes = [
      ...(missing.length > 0 ? [`to add: ${missing.join(", ")}`] : []),
      ...(isWrong ? ["to correct: keyframe_functions_url"] : []),
    ];
    return {
      says: changes.length === 0 ? `${NAMES.join(" and ")} are there` : changes.join("; "),
      more,
      apply: async () => {
        deployment.found.kickSecret = await write(deployment);
        return changes.length === 0 ? "kept" : "written";
      },
    };
  },
};

const functionsUrl = (projectUrl: string) => `${projectUrl}/functions/v1`;

type Comparison = { isWrong: boolean; more: string[] };
const RIGHT: Comparison = { isWrong: false, more: [] };

/** Whether the database kicks another address than this project's. */
async function compareUrl({ cli, settings }: Deployment): Promise<Comparison> {
  const wanted = functionsUrl(settings.projectUrl);
  const query = "select decrypted_secret as url from vault.decrypted_secrets where name = 'keyframe_functions_url'";
  const row = z.object({ url: z.string() });
  try {
    const [found] = await cli.query("reading keyframe_functions_url", query, row, "read");
    return found?.url === wanted
      ? RIGHT
      : { isWrong: true, more: [`keyframe_functions_url: ${found?.url} → ${wanted}`] };
  } catch (error) {
    if (!(error instanceof DeployError)) throw error;
    // The platform may not let the role that only reads decrypt; writing puts it right in any case.
    return {
      isWrong: false,
      more: [`keyframe_functions_url could not be compared with ${wanted}: it is written if it differs`],
    };
  }
}

async function write({ cli, settings, keeper }: Deployment): Promise<string> {
  const made = keeper.add(`whsec_${crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64()}`);
  const sql = vaultSql(functionsUrl(settings.projectUrl), made);
  const [row] = await cli.query("writing to the Vault", sql, kickRow, "write");
  const kept = webhookSecret.safeParse(keeper.add(row?.keyframe_kick_secret));
  if (kept.success) return kept.data;
  throw new DeployError(
    "The Vault entry keyframe_kick_secret cannot sign: it must be whsec_ and base64. Delete it (delete from vault.secrets where name = 'keyframe_kick_secret') and run the command again: it makes a new one.",
  );
}
