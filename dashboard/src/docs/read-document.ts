import type { ApiDocument } from "./open-api.ts";

/** Throws a sentence for a person when it is no OpenAPI 3.1 document: another server's page, most often. */
export function readDocument(given: unknown): ApiDocument {
  if (!isObject(given) || !String(given.openapi).startsWith("3.1") || !isObject(given.paths)) {
    throw new Error("What the service answered is no OpenAPI 3.1 document. Is config.json that of this service?");
  }
  // Made from the same contract as this page, and checked against the standard by its tests; so its outline is enough here.
  return given as ApiDocument;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
