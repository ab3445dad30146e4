import { ActionIcon, Alert, Button, Group, Menu, Modal, Stack, Text } from "@mantine/core";
import { IconDots, IconPencil, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { Link } from "react-router";
import { KeyframeError, type Project } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { useOpened } from "../ui/window-focus.ts";
import { editList } from "./project-queries.ts";

type Props = { title: string; onChange?: () => void; onDelete: () => void };

export function ProjectMenu({ title, onChange, onDelete }: Props) {
  const target = useRef<HTMLButtonElement>(null);
  // A modal returns the focus to the element that had it; the menu's items are gone by then.
  const then = (open: () => void) => () => {
    target.current?.focus();
    open();
  };
  return (
    <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon ref={target} variant="subtle" color="gray" aria-label={`Actions for ${title}`}>
          <IconDots size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {onChange !== undefined && (
          <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={then(onChange)}>
            Edit
          </Menu.Item>
        )}
        <Menu.Item
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={16} aria-hidden />}
          onClick={then(onDelete)}
        >
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

type DeleteProjectProps = {
  project: Pick<Project, "projectId" | "title">;
  isOpen: boolean;
  onClose: () => void;
  onDeleted: () => void;
};

/** Confirms the deletion of a project and shows why it may be refused. */
export function DeleteProject({ project, isOpen, onClose, onDeleted }: DeleteProjectProps) {
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
      title="Delete project?"
      closeButtonProps={{ "aria-label": "Close" }}
      centered
    >
      <Stack>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          “{title}” and its frames, videos and history will be deleted. This cannot be undone.
        </Text>
        {isInProgress && (
          <Alert color="gray" role="alert" icon={<IconPlayerPlay aria-hidden />} title="A step is still running">
            <Text size="sm">
              Wait for it to finish, or cancel it in{" "}
              <Link to={`/projects/${projectId}`} onClick={close}>
                the studio
              </Link>
              . Then delete the project.
            </Text>
          </Alert>
        )}
        {remove.error !== null && !isInProgress && (
          <ErrorNotice title="Could not delete the project" error={remove.error} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Cancel
          </Button>
          <BusyButton color="red.9" isBusy={remove.isPending} onClick={() => remove.mutate(projectId)}>
            Delete project
          </BusyButton>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Deletes a project. `not_found` counts as success: an earlier answer was lost. */
function useDeleteProject(onDeleted: (projectId: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (projectId: string) => {
      await keyframe.deleteProject(projectId).catch((error: unknown) => {
        if (!(error instanceof KeyframeError) || error.code !== "not_found") throw error;
      });
    },
    onSuccess: (_none, projectId) => {
      editList(queries, (projects) => projects.filter((project) => project.projectId !== projectId));
      onDeleted(projectId);
    },
  });
}
