import type { ServiceFigures } from "../../contract/service.ts";
import { databaseProblems, type Writes } from "./database-problems.ts";
import { kickProblems, pgNetProblems } from "./kick-problems.ts";
import { costProblems, modelProblem } from "./start-problems.ts";
import { jobProblems, workProblems } from "./work-problems.ts";

/**
 * What does not work although the service answers, and what to do about it: causes first. Empty when all is well, however much there is to
 * do. A part that could not be read is a problem itself and says nothing else.
 */
export function problemsOf(figures: ServiceFigures, writes: Writes = "ok"): string[] {
  const { unavailableModels, costs, kicks, deliveries } = figures;
  return [
    ...databaseProblems(figures, writes),
    ...kickProblems(figures),
    ...workProblems(figures),
    ...unsignedProblems(deliveries?.unsignedEndpoints ?? 0),
    ...(kicks === null ? [] : pgNetProblems(kicks)),
    ...jobProblems(figures),
    ...(unavailableModels ?? []).map(modelProblem),
    ...(costs === null ? [] : costProblems(costs)),
  ];
}

/** What an operator would ask about first although the service works: no reason to call it degraded. */
export const noticesOf = ({ limitedOwners, appTriggers }: ServiceFigures): string[] => [
  ...(limitedOwners ?? []).map(
    ({ ownerId, routeClass, seconds }) =>
      `Owner ${ownerId} has used up the rate of ${routeClass} requests for ${Math.round(seconds ?? 0)} s: what exceeds it is refused, and other users keep their share. If it goes on, lower that rate (update keyframe_private.rate_limits set per_second = … where route_class = '${routeClass}'), or ban the account in Auth.`,
  ),
  ...(appTriggers === null || appTriggers.length === 0
    ? []
    : [
        `Triggers that are not Keyframe's run whenever it works for anybody: ${appTriggers.join(", ")}. One that returns null loses rows without an error, and one that sleeps and catches query_canceled stops everybody. Where work is missing or late, drop them first.`,
      ]),
];

const unsignedProblems = (endpoints: number): string[] =>
  endpoints === 0
    ? []
    : [
        `${endpoints} webhook endpoints cannot be signed for: their secret in the Vault is missing or cannot be decrypted, as after a restore under another key. They are those with last_error = 'not_signed' in keyframe_private.admin_webhook_health. Restore the Vault's key, or rotate their secrets.`,
      ];
