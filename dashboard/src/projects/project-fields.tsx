import { Group, Text, Textarea } from "@mantine/core";
import { schemaResolver, useForm, type UseFormReturnType } from "@mantine/form";
import { useEffect, useRef } from "react";
import type { createProjectBody } from "../../../shared/contract/projects.ts";
import type { ProjectTexts } from "./project-queries.ts";

/**
 * Validates while typing, with the service's own schema. It is loaded for a new project or with the first change: most who open a
 * project change no text. Until then the service validates.
 */
export function useProjectForm(initialValues: ProjectTexts) {
  const schema = useRef<typeof createProjectBody>(null);
  const form = useForm<ProjectTexts>({
    initialValues,
    validate: (values) => (schema.current ? schemaResolver(schema.current, { sync: true })(values) : {}),
    validateInputOnChange: true,
  });
  const isNeeded = initialValues.title === "" || form.isDirty();
  useEffect(() => {
    if (!isNeeded) return;
    void import("../../../shared/contract/projects.ts").then((contract) => {
      schema.current = contract.createProjectBody;
    });
  }, [isNeeded]);
  return form;
}

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

export function DescriptionField({ form }: { form: UseFormReturnType<ProjectTexts> }) {
  return (
    <Textarea
      label="Description"
      description={<Counted text="Notes for yourself. Not sent to the model." value={form.values.description} />}
      autosize
      minRows={2}
      maxRows={8}
      {...form.getInputProps("description")}
    />
  );
}

const MOST = 4000;

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
