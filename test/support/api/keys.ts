import type { z } from "zod";
import type { BodyOf } from "../../../client/types.ts";
import { createdKey } from "../../../shared/contract/keys.ts";
import { dataOf } from "./envelope.ts";
import type { User } from "./user.ts";

export const makeKey = async (
  { post }: Pick<User, "post">,
  body: Partial<BodyOf<"createKey">> = {},
): Promise<z.infer<typeof createdKey>> =>
  createdKey.parse(dataOf(await post("/api/keys", { name: "A script", may: "read", ...body }), 201));

/** A well-formed key with its checksum, as anybody can write one. */
export async function withChecksum(body: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
  return body + new Uint8Array(digest).toHex().slice(0, 8);
}
