import { z } from "zod";

/**
 * KEYFRAME_ALLOW_LOCAL_WEBHOOKS, read as a boolean. Only the local stack sets it to 1: receivers may then be on http and
 * on loopback. Anywhere else that would let every user send requests into the network of the functions.
 */
export const allowLocalWebhooks = z
  .enum(["0", "1"], { error: "must be 0 or 1" })
  .default("0")
  .transform((value) => value === "1");
