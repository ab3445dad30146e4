import { ActionIcon, Menu } from "@mantine/core";
import { IconDots, IconPencil, IconTrash } from "@tabler/icons-react";
import { useRef } from "react";

type Props = { title: string; onChange?: () => void; onDelete: () => void };

/** What can be done with a project besides opening it. */
export function ProjectMenu({ title, onChange, onDelete }: Props) {
  const target = useRef<HTMLButtonElement>(null);
  // A window gives the focus back to what had it when it opened; the items of the menu are gone by then.
  const then = (open: () => void) => () => {
    target.current?.focus();
    open();
  };
  return (
    <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon ref={target} variant="subtle" color="gray" aria-label={`More for ${title}`}>
          <IconDots size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {onChange !== undefined && (
          <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={then(onChange)}>
            Rename or change
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
