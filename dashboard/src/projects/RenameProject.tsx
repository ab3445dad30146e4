import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Project } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { useChangeProject } from "./project-queries.ts";

type RenameProjectProps = { project: Project; isOpen: boolean; onClose: () => void };

export function RenameProject({ project, isOpen, onClose }: RenameProjectProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = useChangeProject(project.projectId);
  const title = typed ?? project.title;
  const close = () => {
    change.reset();
    setTyped(null);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() !== "") change.mutate({ change: { title }, unchangedSince: project }, { onSuccess: close });
  };
  return (
    <Modal opened={isOpen} onClose={close} title="Rename project">
      <form noValidate onSubmit={submit}>
        <Stack>
          <TextInput
            label="Title"
            data-autofocus
            maxLength={200}
            value={title}
            error={title.trim() === "" ? "Enter a title." : null}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          {change.error !== null && <ErrorNotice title="Could not rename the project" error={change.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <BusyButton type="submit" isBusy={change.isPending} isOff={title.trim() === ""}>
              Rename
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
