import type { Step } from "../../shared/contract/fields.ts";
import type { PredictionStatus } from "../../shared/contract/predictions.ts";

/**
 * A start as its user knows it. Without an answer nobody knows yet whether it was accepted: asked again with the same
 * key it must say.
 */
export type Start = {
  key: string;
  prompt: string;
  projectId: string;
  step: Step;
  /** The image it was to use, if any. */
  reference: string | null;
  /** Asks again with the same key. */
  repeat(): Promise<{ predictionId: string }>;
  outcome: { accepted: string } | { refused: string } | "unanswered";
};

/**
 * A call that was made to see whether the service stays polite: how long it took, what it was answered, and whether
 * that said when to come back.
 */
export type Probe = { ms: number; status: number; retryAfter: boolean };

/** `status` is `another` where a 304 named another answer than that which was asked about. */
export type Telling = { reader: string; predictionId: string; status: PredictionStatus | "another"; code: number };

/** What the users of a run asked for and were answered: the one side of every comparison at its end. */
export class Ledger {
  readonly starts: Start[] = [];
  /** Each answer to a POST that makes something: which thing, by which key. */
  readonly answers: { key: string; what: string; id: string }[] = [];
  /** Projects whose deletion was asked for, whatever was answered. */
  readonly deletedProjects = new Set<string>();
  /** Paths of images whose users' accounts were deleted. */
  readonly leftUploads: string[] = [];
  /** Slots of endpoints whose event types were changed. */
  readonly resubscribed = new Set<string>();
  /** Predictions whose cancelling was asked for. */
  readonly canceled = new Set<string>();
  /** Signed addresses of outputs: until when they work, as users were told, and as they say themselves (ISO 8601). */
  readonly addresses: { told: string; ends: string }[] = [];
  readonly probes: Probe[] = [];
  /** Answers of the API to users that were 5xx. */
  readonly refusals: Omit<Probe, "ms">[] = [];
  /** What users were told of predictions, each reader's in the order of time; `code` 304: the same as before. */
  readonly tellings: Telling[] = [];
  /** The most places that one owner had, at one moment after the other. */
  readonly places: number[] = [];
  /** Faults that were done to the stack, and those that could not be. */
  readonly applied = new Map<string, number>();
  readonly notApplied = new Map<string, number>();
  /** Calls by what came of them: `ok`, or the error's code. */
  readonly calls = new Map<string, number>();

  count(map: Map<string, number>, name: string): void {
    map.set(name, (map.get(name) ?? 0) + 1);
  }
}
