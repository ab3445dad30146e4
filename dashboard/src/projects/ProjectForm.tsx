import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { Project } from "../../../client/index.ts";
import { focusFirstError } from "../ui/window-focus.ts";
import { DescriptionField, PromptField, promptProblem, textProblem, titleProblem } from "./project-fields.tsx";
import { BusyButton } from "../ui/buttons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";

export type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

type Props = {
  /** What is created. */
  noun: string;
  initial: ProjectTexts;
  isBusy: boolean;
  error: unknown;
  onTyped: (texts: ProjectTexts) => void;
  onSubmit: (texts: ProjectTexts) => void;
  onCancel: () => void;
};

/** The form of a new project. Validates while typing. */
export function ProjectForm({ noun, initial, isBusy, error, onTyped, onSubmit, onCancel }: Props) {
  const form = useForm<ProjectTexts>({
    initialValues: initial,
    onValuesChange: onTyped,
    validate: { title: titleProblem, textPrompt: promptProblem, description: (text) => textProblem(text) },
    validateInputOnChange: true,
  });
  return (
    <form onSubmit={form.onSubmit(onSubmit, focusFirstError(form))} noValidate>
      <Stack>
        <TextInput label="Title" data-autofocus maxLength={200} {...form.getInputProps("title")} />
        <PromptField minRows={4} maxRows={14} {...form.getInputProps("textPrompt")} value={form.values.textPrompt} />
        <DescriptionField {...form.getInputProps("description")} value={form.values.description} />
        {error !== null && <ErrorNotice title={`Could not create the ${noun}`} error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <BusyButton type="submit" isBusy={isBusy}>
            Create {noun}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
