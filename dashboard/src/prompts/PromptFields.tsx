import { Group, Text, type TextareaProps } from "@mantine/core";
import type { Element } from "../../../client/index.ts";
import { MAX_CHARACTERS, textProblem } from "../ui/errors.ts";
import { MentionTextarea } from "./MentionTextarea.tsx";

type Props = Omit<TextareaProps, "value"> & { value: string };

/** `elements`: the elements that the prompt can name by @. */
export const PromptField = (field: Props & { elements: Element[] }) => (
  <CountedField label="Prompt" purpose="The scene to generate." {...field} />
);

export const DescriptionField = (field: Props) => (
  <CountedField
    label="Description"
    purpose="Notes. Not sent to the model."
    elements={[]}
    minRows={2}
    maxRows={8}
    {...field}
  />
);

export const promptProblem = (prompt: string): string | null =>
  prompt.trim() === "" ? "Enter a prompt." : textProblem(prompt);

/** A field with a description and a character count. The service counts code points: an emoji is one. */
function CountedField({ purpose, value, ...field }: Props & { purpose: string; elements: Element[] }) {
  const description = (
    <Group component="span" justify="space-between" wrap="nowrap" align="flex-end">
      <span>{purpose}</span>
      <Text span inherit style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
        {[...value].length} / {MAX_CHARACTERS}
      </Text>
    </Group>
  );
  return <MentionTextarea description={description} value={value} {...field} />;
}
