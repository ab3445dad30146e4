import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { openApi } from "./document.ts";

// Strict: a keyword that JSON Schema does not know is our mistake. `example` is OpenAPI's, and so are the keywords at the top of the
// document, to which the schemas refer.
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, strictRequired: false });
// ajv-formats is CommonJS, whose default export some bundlers see as the module itself.
addFormats.default(ajv);
ajv.addFormat("binary", true);
ajv.addVocabulary(["example", ...Object.keys(openApi)]);
ajv.addSchema({ ...openApi, $id: "openapi" }, "openapi", undefined, false);

const compiled = new Map<string, ValidateFunction>();

/** Says what is wrong with a value, by the schema at `pointer` in the document; nothing when it fits. Compiled once. */
export function faultsOf(value: unknown, pointer: string): string[] {
  const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi${encodeURI(pointer)}` });
  compiled.set(pointer, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const { allowedValues, additionalProperty } = params as Record<string, unknown>; // by keyword; absent in most
    const detail = allowedValues ?? additionalProperty;
    return `body${instancePath} ${message}${detail === undefined ? "" : ` (${JSON.stringify(detail)})`}`;
  });
}
