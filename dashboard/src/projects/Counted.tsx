import { Group, Text } from "@mantine/core";

const MOST = 4000;

/** A field's explanation, and how long its text is. Counted as the service counts: by characters, of which an emoji is one. */
export function Counted({ text, value }: { text: string; value: string }) {
  return (
    <Group component="span" justify="space-between" wrap="nowrap" align="flex-end">
      <span>{text}</span>
      <Text span inherit style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
        {[...value].length} / {MOST}
      </Text>
    </Group>
  );
}
