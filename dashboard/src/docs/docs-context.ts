import { createContext, useContext } from "react";
import type { ApiDocument } from "./open-api.ts";
import type { MakeSample } from "./sample-of.ts";

export type Language = "curl" | "JavaScript";

/** What every part of the reference looks at. */
export type Docs = {
  document: ApiDocument;
  /** Before each path; without a trailing slash. */
  functionsUrl: string;
  makeSample: MakeSample;
  /** Of all examples: chosen once, and remembered. */
  language: Language;
  setLanguage: (language: Language) => void;
};

export const DocsContext = createContext<Docs | null>(null);

export function useDocs(): Docs {
  const docs = useContext(DocsContext);
  if (docs === null) throw new Error("useDocs is for what stands inside Reference.");
  return docs;
}
