import { join } from "node:path";
import { z } from "zod";
import { jsonText } from "../../shared/platform/json-text.ts";
import { generateSigningKey, signingKeySchema } from "../platform/session-tokens.ts";

const schema = z.object({
  signingKey: signingKeySchema,
  liteJwtSecret: z.string().min(32),
  publishableKey: z.string().startsWith("sb_publishable_"),
  secretKey: z.string().startsWith("sb_secret_"),
  kickSecret: z.string().startsWith("whsec_"),
  replicateToken: z.string().startsWith("r8_"),
  replicateWebhookSecret: z.string().startsWith("whsec_"),
  postgresPassword: z.string().min(16),
  demoPassword: z.string().min(8),
});

/** Every secret of one local stack. They are kept with its data: a new signing key would end all sessions. */
export type StackKeys = z.infer<typeof schema>;

const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const token = (prefix: string) => prefix + random(20).toHex();
const webhookSecret = () => `whsec_${random(32).toBase64()}`;

/** Reads `keys.json` in the data folder, or creates it, readable by its owner only. */
export async function loadStackKeys(dataDir: string): Promise<StackKeys> {
  const path = join(dataDir, "keys.json");
  const kept = await Deno.readTextFile(path).catch(() => undefined);
  if (kept !== undefined) {
    const parsed = jsonText.pipe(schema).safeParse(kept);
    if (parsed.success) return parsed.data;
    throw new Error(`${path} is not a valid keys file: use --reset, which deletes the data and starts again.`);
  }
  const keys: StackKeys = {
    signingKey: await generateSigningKey(),
    liteJwtSecret: random(32).toHex(),
    publishableKey: token("sb_publishable_"),
    secretKey: token("sb_secret_"),
    kickSecret: webhookSecret(),
    replicateToken: token("r8_"),
    replicateWebhookSecret: webhookSecret(),
    postgresPassword: random(16).toHex(),
    demoPassword: `film-${random(4).toHex()}`,
  };
  await Deno.writeTextFile(path, JSON.stringify(keys, null, 2), { mode: 0o600 });
  return keys;
}

const DEMO_EMAIL = "demo@keyframe.local";

export const demoUserOf = (keys: StackKeys) => ({ email: DEMO_EMAIL, password: keys.demoPassword });
