import { Group, Text, Textarea, type TextareaProps } from "@mantine/core";

type Props = TextareaProps & { value: string };

export function PromptField({ value, ...field }: Props) {
  return (
    <Textarea
      label="Prompt"
      description={<Counted text="The scene to generate." value={value} />}
      autosize
      value={value}
      {...field}
    />
  );
}

export function DescriptionField({ value, ...field }: Props) {
  return (
    <Textarea
      label="Description"
      description={<Counted text="Notes for yourself. Not sent to the model." value={value} />}
      autosize
      minRows={2}
      maxRows={8}
      value={value}
      {...field}
    />
  );
}

const MOST = 4000;

/** The service's other rules are rarely broken: it names them when it refuses. */
export const textProblem = (text: string, most = MOST): string | null =>
  [...text].length > most ? `At most ${most.toLocaleString("en")} characters.` : null;

/** A description and a character count. The service counts code points: an emoji is one. */
function Counted({ text, value }: { text: string; value: string }) {
  return (
    <Group component="span" justify="space-between" wrap="nowrap" align="flex-end">
      <span>{text}</span>
      <Text span inherit style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
        {[...value].length} / {MOST}
      </Text>
    </Group>
  );
}
