import { OPERATIONS, type OperationId } from "../../../../shared/contract/operations/index.ts";

/** One path of the API and what each method of it does. */
export type Route = {
  /** As the contract writes it, with :names: what the log tells. */
  at: string;
  /** As Hono matches it. */
  pattern: string;
  operations: Partial<Record<string, OperationId>>;
};

/** What an identifier in a path must look like; anything else is no path of ours. */
const UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

/** All paths of the contract. */
export function listRoutes(): Route[] {
  const routes = new Map<string, Route>();
  for (const [id, { method, at }] of Object.entries(OPERATIONS)) {
    const pattern = at.replaceAll(/:(\w+)/g, `:$1{${UUID}}`);
    const route = routes.get(at) ?? { at, pattern, operations: {} };
    // The keys of OPERATIONS are the OperationIds, which Object.entries forgets.
    route.operations[method] = id as OperationId;
    routes.set(at, route);
  }
  return [...routes.values()];
}
