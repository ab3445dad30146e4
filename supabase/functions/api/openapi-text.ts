import { openApiDocument } from "../../../shared/contract/openapi/index.ts";

/** The version of the contract, as CHANGELOG.md has it. */
const VERSION = "0.1.0";

/**
 * The text of openapi.json, made at the first request that asks for it (some 30 ms) and kept. Not in an envelope: it is
 * not an answer of the service but a document that tools read.
 */
export function createDocumentText(serverUrl: string): () => string {
  let text: string | undefined;
  return () => {
    text ??= JSON.stringify(openApiDocument(serverUrl, VERSION));
    return text;
  };
}
