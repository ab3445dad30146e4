/** The version of the contract, as CHANGELOG.md has it. */
const VERSION = "0.1.0";

/**
 * The text of openapi.json, made at the first request that asks for it (some 30 ms) and kept; until then not even the code
 * that makes it is loaded. Not in an envelope: it is not an answer of the service but a document that tools read.
 */
export function createDocumentText(functionsUrl: string): (mount: string) => Promise<string> {
  let made: { mount: string; text: Promise<string> } | undefined;
  const make = async (mount: string) => {
    const { openApiDocument } = await import("../../../../shared/contract/openapi/index.ts");
    return JSON.stringify(openApiDocument(functionsUrl + mount, VERSION));
  };
  return (mount) => {
    if (made?.mount === mount) return made.text;
    const text = make(mount).catch((error) => {
      made = undefined; // the next request tries again
      throw error;
    });
    made = { mount, text };
    return text;
  };
}
