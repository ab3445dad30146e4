import { Button, Collapse, Group, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import { IconCheck, IconChevronDown, IconPencil } from "@tabler/icons-react";
import type { Project } from "../../../client/index.ts";
import { DescriptionField } from "../projects/DescriptionField.tsx";
import { PromptField } from "../projects/PromptField.tsx";
import { useChangeProject } from "../projects/use-change-project.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { useTextsForm } from "./use-texts-form.ts";

/** What the film is about, changed in place and saved on request. */
export default function TextsPanel({ project }: { project: Project }) {
  const { form, isDirty, discard } = useTextsForm(project);
  const change = useChangeProject(project.projectId);
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  // A field that does not fit is never hidden.
  const isUnfolded = isOpen || form.errors.title !== undefined || form.errors.description !== undefined;
  return (
    <form noValidate onSubmit={form.onSubmit((texts) => change.mutate(texts))}>
      <Stack gap="sm">
        <PromptField form={form} rows={4} />
        <div>
          <Button
            variant="subtle"
            size="compact-sm"
            ml={-8}
            aria-expanded={isUnfolded}
            aria-controls={id}
            rightSection={<IconChevronDown size={16} aria-hidden />}
            onClick={toggle}
          >
            Title and description
          </Button>
          <Collapse expanded={isUnfolded} id={id}>
            <Stack gap="sm" pt="xs">
              <TextInput label="Title" {...form.getInputProps("title")} />
              <DescriptionField form={form} />
            </Stack>
          </Collapse>
        </div>
        <Group gap="sm">
          <BusyButton type="submit" size="sm" isBusy={change.isPending} isOff={!isDirty}>
            Save
          </BusyButton>
          {isDirty && (
            <Button size="sm" variant="default" onClick={discard}>
              Discard
            </Button>
          )}
          <Group gap={6} wrap="nowrap" role="status" flex={1} miw={180}>
            {isDirty ? <IconPencil size={16} aria-hidden /> : <IconCheck size={16} aria-hidden />}
            <Text size="sm" {...(isDirty ? {} : { c: "dimmed" })}>
              {isDirty ? "Not saved: a run started now uses the saved text." : "Saved"}
            </Text>
          </Group>
        </Group>
        {change.error !== null && <ErrorNotice title="The change was not saved" error={change.error} />}
      </Stack>
    </form>
  );
}
