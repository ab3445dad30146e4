import { Text } from "@mantine/core";
import { Inline } from "./Inline.tsx";

/** A description; an empty line begins the next paragraph. */
export function Paragraphs({ text }: { text: string }) {
  return text
    .split("\n\n")
    .filter((paragraph) => paragraph !== "")
    .map((paragraph) => (
      <Text key={paragraph} size="sm">
        <Inline text={paragraph} />
      </Text>
    ));
}
