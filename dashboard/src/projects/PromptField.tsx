import { Textarea } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { Counted } from "./Counted.tsx";
import type { ProjectTexts } from "./use-change-project.ts";

type Props = { form: UseFormReturnType<ProjectTexts>; rows: number };

export function PromptField({ form, rows }: Props) {
  return (
    <Textarea
      label="Prompt"
      description={<Counted text="The scene to generate." value={form.values.textPrompt} />}
      autosize
      minRows={rows}
      maxRows={14}
      {...form.getInputProps("textPrompt")}
    />
  );
}
