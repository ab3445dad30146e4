import { type PredictionStatus, predictionStatus } from "../../../../shared/contract/predictions.ts";
import { type PredictionRow, wireStatus } from "../rows/map-prediction.ts";
import { time } from "../../../../shared/contract/fields.ts";
import type { Project } from "../../../../shared/contract/projects.ts";
import { MIN_URL_LIFE_MS, type SignedFile } from "../rows/storage.ts";

export type KnownTag = { tag: string; status: PredictionStatus; state: string; expires: number };

/**
 * The ETag of a prediction: its status, its state, and when its signed URL expires (seconds since 1970, 0 without a URL).
 * Weak, because the URL may be another one.
 */
export function tagOf(row: PredictionRow, file: SignedFile | undefined): string {
  const expires = file ? Math.floor(Date.parse(file.expiresAt) / 1000) : 0;
  return `W/"${wireStatus(row)}-${stateOf(row)}-${expires}"`;
}

/** The ETag of a project: every change moves updatedAt. */
export const versionOf = ({ updatedAt }: Pick<Project, "updatedAt">): string => `"${updatedAt}"`;

/**
 * The versions in If-Match that could be ours; undefined without a condition. A proxy may have made a tag weak. Postgres has no year
 * 0000.
 */
export function readVersions(ifMatch: string | null): string[] | undefined {
  if (ifMatch === null || ifMatch.trim() === "*") return undefined;
  return [...ifMatch.matchAll(/"(?!0000)([^"]{24})"/g)].flatMap(([, version]) => time.safeParse(version).data ?? []);
}

/** The first of our tags in If-None-Match, with or without its W/; undefined when there is none. */
export function readTag(ifNoneMatch: string | null): KnownTag | undefined {
  const [, opaque, status, state, expires] = /("([a-z]+)-([\w.-]{36,120})-(\d{1,12})")/.exec(ifNoneMatch ?? "") ?? [];
  const known = predictionStatus.safeParse(status);
  if (opaque === undefined || state === undefined || !known.success) return undefined;
  return { tag: `W/${opaque}`, status: known.data, state, expires: Number(expires) * 1000 };
}

/** Whether the caller's copy is current: the same state, and a URL that does not expire soon. */
export function isCurrent(known: KnownTag, row: PredictionRow, now: Date): boolean {
  if (known.state !== stateOf(row) || known.status !== wireStatus(row)) return false;
  return row.status !== "succeeded" || known.expires > now.getTime() + MIN_URL_LIFE_MS;
}

/**
 * With the status, this decides every field of the answer: all others are set with the status, and a final status is never left.
 * Except for hidden, outdated and the cost, which can change at any time.
 */
const stateOf = ({ id, attempt, queue_position, progress, hidden, outdated, cost }: PredictionRow) =>
  `${id}.${attempt}.${queue_position ?? ""}.${progress ?? ""}.${hidden ? "h" : ""}${outdated ? "o" : ""}.${costTag(cost)}`;

const costTag = (cost: PredictionRow["cost"]) =>
  cost === null ? "" : `${cost.state}.${cost.amountMicros ?? ""}.${cost.atMostMicros ?? ""}`;
