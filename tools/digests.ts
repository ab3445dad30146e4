import { createHash } from "node:crypto";
import { statementsOf } from "../local/stack/read-migrations.ts";

/** The form in which the platform lists a secret. */
export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The digest of a migration's statements. */
export const migrationDigest = (text: string): string => sha256Hex(statementsOf(text));
