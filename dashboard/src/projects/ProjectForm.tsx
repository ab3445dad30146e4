import { Button, Group, Stack, TextInput } from "@mantine/core";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { useFocusOnMount } from "../ui/window-focus.ts";
import { DescriptionField, PromptField, useProjectForm } from "./project-fields.tsx";
import type { ProjectTexts } from "./project-queries.ts";

type Props = {
  initial: ProjectTexts;
  submit: string;
  failed: string;
  isBusy: boolean;
  error: unknown;
  onSubmit: (texts: ProjectTexts) => void;
  onCancel: () => void;
};

/** The form in the modals that create and edit a project. */
export default function ProjectForm({ initial, submit, failed, isBusy, error, onSubmit, onCancel }: Props) {
  const form = useProjectForm(initial);
  const title = useFocusOnMount<HTMLInputElement>();
  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack>
        <TextInput ref={title} label="Title" data-autofocus {...form.getInputProps("title")} />
        <PromptField form={form} rows={4} />
        <DescriptionField form={form} />
        {error !== null && <ErrorNotice title={failed} error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <BusyButton type="submit" isBusy={isBusy}>
            {submit}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
