import { SegmentedControl } from "@mantine/core";
import { type Language, useDocs } from "./docs-context.ts";

const LANGUAGES: Language[] = ["curl", "JavaScript"];

/** Chosen at one place, it holds for all examples. */
export function LanguageChoice({ label }: { label: string }) {
  const { language, setLanguage } = useDocs();
  return (
    <SegmentedControl
      size="xs"
      aria-label={label}
      data={LANGUAGES}
      value={language}
      onChange={(value) => setLanguage(LANGUAGES.find((one) => one === value) ?? "curl")}
    />
  );
}
