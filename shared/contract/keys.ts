import { z } from "zod";
import { line, time } from "./fields.ts";
import { SAMPLE_KEY } from "./samples.ts";

/** What a key may do; each right includes the rights before it. Postgres has the same list (keyframe_private.client_right). */
export const RIGHTS = ["read", "generate", "manage"] as const;
const MOST = 1_000_000_000_000;

const may = z
  .enum(RIGHTS, { error: `Must be one of ${RIGHTS.join(", ")}.` })
  .describe(
    "`read`: read films, projects, elements, predictions, files, prices and costs. `generate`: also create and change them, upload images, start and cancel runs, which spends your money. `manage`: also delete them, share films by link, and everything about webhooks. Each has those before it.",
  );
const dayLimitMicros = z
  .int()
  .min(0)
  .max(MOST)
  .nullable()
  .describe(
    "The most it may spend in a day (UTC), in millionths of a dollar, within your budgets; null: no limit of its own.",
  );

export const createKeyBody = z
  .strictObject({
    name: line(1, 80).describe("Where it is used: one line with at least one visible character."),
    may,
    dayLimitMicros: dayLimitMicros.optional(),
    expiresAt: time.optional().describe("When it ends, in the future. Default: when it is revoked."),
  })
  .meta({ id: "CreateKey" });

export const KEY_ID = "kf_[0-9a-f]{16}";
const keyId = z
  .string()
  .regex(new RegExp(`^${KEY_ID}$`))
  .describe("The first 19 characters of the key, which are not secret.");
export const keyPath = z.strictObject({ keyId });

export const key = z
  .object({
    keyId,
    name: z.string(),
    may,
    dayLimitMicros,
    createdAt: time,
    expiresAt: time.nullable().describe("When it ends or has ended; null: when it is revoked."),
    lastUsedAt: time.nullable().describe("The minute in which it was last used; null: never."),
  })
  .meta({ id: "Key", examples: [SAMPLE_KEY] });
export type Key = z.infer<typeof key>;

export const createdKey = z
  .object({
    ...key.shape,
    key: z
      .string()
      .regex(/^kf_[0-9a-f]{72}$/)
      .describe("Send it as `Authorization: Bearer <key>`. It is in this answer alone: keep it."),
  })
  .meta({ id: "CreatedKey" });

export const keyList = z.object({ keys: z.array(key) }).meta({ id: "KeyList" });
