import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { Link } from "react-router";
import { KeyframeError, type Project } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { useOpened } from "../ui/use-opened.ts";
import { useDeleteProject } from "./use-delete-project.ts";

type Props = {
  project: Pick<Project, "projectId" | "title">;
  isOpen: boolean;
  onClose: () => void;
  onDeleted: () => void;
};

/** Asks before a project and all that was generated for it goes, and says what is in the way. */
export function DeleteProject({ project, isOpen, onClose, onDeleted }: Props) {
  const { projectId, title } = project;
  const remove = useDeleteProject(onDeleted);
  const close = () => {
    remove.reset();
    onClose();
  };
  const isInProgress = remove.error instanceof KeyframeError && remove.error.code === "generation_in_progress";
  return (
    <Modal
      opened={useOpened(isOpen)}
      onClose={close}
      title="Delete the project?"
      closeButtonProps={{ "aria-label": "Close" }}
      centered
    >
      <Stack>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          “{title}” goes with its frames, its videos and their history. This cannot be taken back.
        </Text>
        {isInProgress && (
          <Alert color="gray" role="alert" icon={<IconPlayerPlay aria-hidden />} title="Something of it still runs">
            <Text size="sm">
              Wait until it is done, or cancel it in{" "}
              <Link to={`/projects/${projectId}`} onClick={close}>
                the studio
              </Link>
              . Then delete the project.
            </Text>
          </Alert>
        )}
        {remove.error !== null && !isInProgress && (
          <ErrorNotice title="The project was not deleted" error={remove.error} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Keep it
          </Button>
          <BusyButton color="red.9" isBusy={remove.isPending} onClick={() => remove.mutate(projectId)}>
            Delete it
          </BusyButton>
        </Group>
      </Stack>
    </Modal>
  );
}
