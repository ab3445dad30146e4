/** The version of the contract, as in CHANGELOG.md. */
const VERSION = "0.1.0";

/**
 * Builds the text of openapi.json at the first request for it (about 30 ms, including loading the code) and keeps it.
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
