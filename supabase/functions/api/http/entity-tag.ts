import type { PredictionStatus } from "../../../../shared/contract/predictions.ts";
import { predictionStatus } from "../../../../shared/contract/predictions.ts";
import { digestText } from "./digest-text.ts";
import { type PredictionRow, wireStatus } from "../rows/map-prediction.ts";
import type { SignedFile } from "../rows/storage.ts";

/** Who has an answer can go on using its signed address for minutes, also where this machine's clock is ten minutes behind. */
const LEAST_LIFE_MS = 15 * 60_000;

/** What an ETag of ours tells by itself. */
export type KnownTag = { tag: string; status: PredictionStatus; digest: string; expires: number };

/**
 * The ETag of a prediction: its status, a digest of the row, and when the signed address in it runs out (seconds since
 * 1970, 0 without one). Weak, because each answer signs another address.
 */
export function tagOf(row: PredictionRow, file: SignedFile | undefined): string {
  const expires = file ? Math.floor(Date.parse(file.expiresAt) / 1000) : 0;
  return `W/"${wireStatus(row)}-${digestOf(row)}-${expires}"`;
}

/** The first tag of ours in If-None-Match, whether its W/ has survived the way or not; undefined when there is none. */
export function readTag(ifNoneMatch: string | null): KnownTag | undefined {
  const [, opaque, status, digest, expires] = /("([a-z]+)-([0-9a-f]{16})-(\d{1,12})")/.exec(ifNoneMatch ?? "") ?? [];
  const known = predictionStatus.safeParse(status);
  if (opaque === undefined || digest === undefined || !known.success) return undefined;
  return { tag: `W/${opaque}`, status: known.data, digest, expires: Number(expires) * 1000 };
}

/** Whether what the caller has is still right: the same row, and an address that works for a while. */
export function isCurrent(known: KnownTag, row: PredictionRow, now: Date): boolean {
  if (known.digest !== digestOf(row) || known.status !== wireStatus(row)) return false;
  return row.status !== "succeeded" || known.expires > now.getTime() + LEAST_LIFE_MS;
}

const digestOf = (row: PredictionRow) => digestText(JSON.stringify(row));
