import type { Part, ServiceFigures } from "../../contract/service.ts";
import type { FunctionEnvironment } from "../../platform/environment.ts";
import { databaseProblems, type Writes } from "./database-problems.ts";
import { kickProblems, pgNetProblems } from "./kick-problems.ts";
import { costProblems, modelProblem } from "./start-problems.ts";
import { jobProblems, lateProblems, workerProblems } from "./work-problems.ts";

/**
 * What does not work although the service answers, and what to do about it: causes first. Empty when all is well, even under heavy
 * load. A part that could not be read is a problem by itself.
 *
 * @param platformUrl the address of this project
 */
export function problemsOf(figures: ServiceFigures, writes: Writes = "ok", platformUrl?: string): string[] {
  const { unavailableModels, costs, kicks, deliveries, predictions, workers } = figures;
  return [
    ...databaseProblems(figures, writes),
    ...kickProblems(figures, platformUrl),
    ...(workers === null ? [] : workerProblems(workers)),
    ...refusalProblems(predictions?.refusal ?? null),
    ...unsignedProblems(deliveries?.unsignedEndpoints ?? 0),
    ...(kicks === null ? [] : pgNetProblems(kicks)),
    ...jobProblems(figures),
    ...(unavailableModels ?? []).map(modelProblem),
    ...(costs === null ? [] : costProblems(costs)),
    ...lateProblems(figures),
  ];
}

export type RefusedOwner = { ownerId: string; seconds: number };

/** What an operator should know although the service works: not a reason for `degraded`. `refused`: by this process. */
export const noticesOf = (
  { limitedOwners, appTriggers, snapshots }: ServiceFigures,
  refused: RefusedOwner[] = [],
): string[] => [
  ...refused.map(
    ({ ownerId, seconds }) =>
      `Owner ${ownerId} has been refused requests for ${Math.round(seconds)} s without a pause: the owner sends more at once than their share. Other users are not affected. Look for a caller that ignores Retry-After (the api's log lines with this ownerId). If it continues, ban the account in Auth.`,
  ),
  ...(limitedOwners ?? []).map(
    ({ ownerId, routeClass, seconds }) =>
      `Owner ${ownerId} has used up the rate of ${routeClass} requests for ${Math.round(seconds ?? 0)} s: the rest is ${routeClass === "wait" ? "checked less often" : "refused"}. Other users are not affected. If it continues, lower that rate (update keyframe_private.rate_limits set per_second = … where route_class = '${routeClass}'), or ban the account in Auth.`,
  ),
  ...(snapshots ?? []).map(snapshotNotice),
  ...(appTriggers === null || appTriggers.length === 0
    ? []
    : [
        `Triggers that are not Keyframe's run on work for all users: ${appTriggers.join(", ")}. One that returns null loses rows without an error, and one that sleeps and catches query_canceled blocks everyone. If work is missing or late, drop them first.`,
      ]),
];

const SECONDS_PER_MINUTE = 60;

function snapshotNotice({ kind, name, role, seconds, transactions }: Part<"snapshots">[number]): string {
  const [who, remedy] = {
    session: [
      `A transaction of ${role ?? "an unknown role"}`,
      `Commit it, or end it with "select pg_terminate_backend(${name})".`,
    ],
    prepared: [
      `The prepared transaction ${name} of ${role ?? "an unknown role"}`,
      'End it with "commit prepared" or "rollback prepared".',
    ],
    slot: [
      `The replication slot ${name}`,
      `Let its reader catch up, or drop it: select pg_drop_replication_slot('${name}').`,
    ],
    standby: [`The standby ${name}`, "End the long query there, or switch its hot_standby_feedback off."],
  }[kind];
  const since = seconds === null ? "" : ` for ${Math.round(seconds / SECONDS_PER_MINUTE)} min`;
  return `${who} has held a snapshot${since}, ${transactions} transactions long: rows deleted since then stay on disk, and claims read more and more of them. ${remedy}`;
}

const PROVIDER_TOKEN: keyof FunctionEnvironment<"keyframe-generate"> = "KEYFRAME_REPLICATE_API_TOKEN";

const refusalProblems = (refusal: string | null): string[] => {
  if (refusal === null) return [];
  const [why, remedy] =
    refusal === "provider_unauthorized"
      ? ["the service's token", `Set a valid ${PROVIDER_TOKEN} as a secret of the functions.`]
      : ["to run anything before a payment", "Check the billing of its account at Replicate."];
  return [`The provider refuses ${why}. ${remedy} What failed is tried again until its deadline.`];
};

const unsignedProblems = (endpoints: number): string[] =>
  endpoints === 0
    ? []
    : [
        `${endpoints} webhook endpoints cannot be signed for: their secret in the Vault is missing or cannot be decrypted, as after a restore under another key. Find them by last_error = 'not_signed' in keyframe_private.admin_webhook_health. Restore the Vault's key, or rotate their secrets.`,
      ];
