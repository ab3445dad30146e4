import { Button, Group, Stack, TextInput } from "@mantine/core";
import { schemaResolver, useForm } from "@mantine/form";
import type { Project } from "../../../client/index.ts";
import { createProjectBody } from "../../../shared/contract/projects.ts";
import { useFocusOnMount } from "../ui/window-focus.ts";
import { DescriptionField, PromptField } from "./project-fields.tsx";
import { BusyButton } from "../ui/buttons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";

export type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

type Props = {
  initial: ProjectTexts;
  isBusy: boolean;
  error: unknown;
  onTyped: (texts: ProjectTexts) => void;
  onSubmit: (texts: ProjectTexts) => void;
  onCancel: () => void;
};

/** The form of a new project. Validates while typing, with the service's own schema. */
export default function ProjectForm({ initial, isBusy, error, onTyped, onSubmit, onCancel }: Props) {
  const form = useForm<ProjectTexts>({
    initialValues: initial,
    onValuesChange: onTyped,
    validate: schemaResolver(createProjectBody, { sync: true }),
    validateInputOnChange: true,
  });
  const title = useFocusOnMount<HTMLInputElement>();
  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack>
        <TextInput ref={title} label="Title" data-autofocus {...form.getInputProps("title")} />
        <PromptField minRows={4} maxRows={14} {...form.getInputProps("textPrompt")} value={form.values.textPrompt} />
        <DescriptionField {...form.getInputProps("description")} value={form.values.description} />
        {error !== null && <ErrorNotice title="Could not create the project" error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <BusyButton type="submit" isBusy={isBusy}>
            Create project
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
