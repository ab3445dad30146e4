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
