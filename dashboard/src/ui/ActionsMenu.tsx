import { ActionIcon, Menu } from "@mantine/core";
import { type ComponentProps, Fragment, type ReactNode, useRef, useState } from "react";
import { type Icon, IconDots, IconPencil, IconTrash } from "./Icons.tsx";
import { type DialogProps, useLast } from "./dialog-focus.ts";
import { type Saving, TitleDialog } from "./Dialogs.tsx";

export type Action = {
  label: string;
  Icon: Icon;
  run?: () => unknown;
  /** A dialog that the action opens instead of `run`. */
  dialog?: (opened: DialogProps) => ReactNode;
  isDelete?: boolean;
};

/** A deletion that `dialog` confirms. */
export const deletion = (dialog: NonNullable<Action["dialog"]>): Action => ({
  label: "Delete",
  Icon: IconTrash,
  isDelete: true,
  dialog,
});

type Rename = (title: string, onDone: { onSuccess: () => void }) => void;

export const renaming = (noun: string, title: string, saving: Saving, rename: Rename): Action => ({
  label: "Rename",
  Icon: IconPencil,
  dialog: (opened) => (
    <TitleDialog
      {...opened}
      noun={noun}
      initial={title}
      saving={saving}
      onSubmit={(typed) => rename(typed, { onSuccess: opened.onClose })}
    />
  ),
});

type ActionsProps = Omit<ComponentProps<typeof ActionIcon<"button">>, "children"> & {
  /** An action that is false is not offered. */
  actions: (Action | false)[];
};

/** A button with a menu of actions. The menu is not in a portal, so that it belongs to its dialog or landmark. */
export function ActionsMenu({ actions: given, ...button }: ActionsProps) {
  const actions = given.filter((one) => one !== false);
  const target = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState<string | null>(null);
  // Only the opened dialog is rendered: a film has a menu for each of its shots.
  const last = useLast(opened);
  const dialog = actions.find(({ label }) => label === last)?.dialog;
  return (
    <>
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <ActionIcon ref={target} {...button}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map(({ label, Icon: Mark, run = () => setOpened(label), isDelete = false }) => (
            <Menu.Item
              key={label}
              c={`var(--mantine-color-${isDelete ? "error" : "text"})`}
              leftSection={<Mark size={16} />}
              onClick={() => {
                target.current?.focus(); // a modal returns the focus to the element that had it, and this item disappears
                run();
              }}
            >
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Fragment key={last}>{dialog?.({ isOpen: opened !== null, onClose: () => setOpened(null) })}</Fragment>
    </>
  );
}
