/** The version of the contract, as CHANGELOG.md has it. */
const VERSION = "0.1.0";

/**
 * The text of openapi.json, made at the first request that asks for it (some 30 ms) and kept; until then not even the code
 * that makes it is loaded. Not in an envelope: it is not an answer of the service but a document that tools read.
 */
export function createDocumentText(serverUrl: string): () => Promise<string> {
  let text: Promise<string> | undefined;
  const make = async () => {
    const { openApiDocument } = await import("../../../../shared/contract/openapi/index.ts");
    return JSON.stringify(openApiDocument(serverUrl, VERSION));
  };
  return () => {
    text ??= make().catch((error) => {
      text = undefined; // who asks next tries again
      throw error;
    });
    return text;
  };
}
