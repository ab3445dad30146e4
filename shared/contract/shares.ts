import { z } from "zod";
import { id, time } from "./fields.ts";
import { output } from "./predictions.ts";
import { SAMPLE_SHARE } from "./samples.ts";

export const shareFilmBody = z
  .strictObject({
    expiresAt: time.optional().describe("When the link expires, in the future. Default: never, until it is revoked."),
  })
  .meta({ id: "ShareFilm" });

export const sharePath = z.strictObject({ filmId: id, shareId: id });

export const share = z
  .object({
    shareId: id,
    filmId: id,
    createdAt: time,
    expiresAt: time.nullable().describe("When the link expires; null: never, until it is revoked."),
  })
  .meta({ id: "Share", examples: [SAMPLE_SHARE] });
export type Share = z.infer<typeof share>;

/** 256 random bits in base64url. */
export const TOKEN = "[A-Za-z0-9_-]{43}";
const token = z.string().regex(new RegExp(`^${TOKEN}$`));

export const createdShare = z
  .object({
    ...share.shape,
    token: token.describe("Opens the film for anyone who has it. Only this response has it: keep it."),
  })
  .meta({ id: "CreatedShare" });

export const shareList = z.object({ shares: z.array(share) }).meta({ id: "ShareList" });

export const sharedPath = z.strictObject({ token });

const { url, contentType, width, height, durationSeconds, expiresAt } = output.shape;
const video = z.object({ url, contentType, width, height, durationSeconds, expiresAt }).meta({ id: "SharedVideo" });

export const sharedFilm = z
  .object({
    title: z.string(),
    shots: z
      .array(
        z
          .object({
            title: z.string(),
            video: video.nullable().describe("Null: this shot has no video yet."),
          })
          .meta({ id: "SharedShot" }),
      )
      .describe("In order."),
  })
  .meta({ id: "SharedFilm" });
export type SharedFilm = z.infer<typeof sharedFilm>;
