import { Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Element } from "../../../client/index.ts";
import { useDeleteLater } from "../queries/delete-later.ts";
import { Frame } from "../takes/Sources.tsx";
import { IconPencil } from "../ui/Icons.tsx";
import { type Action, ActionsMenu, deletion } from "../ui/ActionsMenu.tsx";
import { DeleteDialog, type DialogProps } from "../ui/Dialogs.tsx";
import { ElementDialog, NO_PROJECT } from "./ElementDialog.tsx";

type Props = {
  element: Element;
  /** The element's name must be unique among these. */
  beside: Element[];
  /** Actions in addition to “Edit” and “Delete”. */
  actions?: Action[];
  children?: ReactNode;
};

export function ElementRow({ element, beside, actions = [], children }: Props) {
  const { name, kind, text, imagePaths } = element;
  return (
    <Group gap="xs" wrap="nowrap">
      {imagePaths.slice(0, 1).map((path) => (
        <Frame key={path} project={NO_PROJECT} frame={path} alt={name} />
      ))}
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" truncate>
          {name}{" "}
          <Text span inherit c="dimmed">
            · {kind}
          </Text>
        </Text>
        <Text size="sm" c="dimmed" lineClamp={2} title={text}>
          {text}
        </Text>
        {children}
      </div>
      <ActionsMenu
        variant="default"
        aria-label={`Actions for ${name}`}
        actions={[
          {
            label: "Edit",
            Icon: IconPencil,
            dialog: (opened) => <ElementDialog key={element.updatedAt} {...{ beside, element }} {...opened} />,
          },
          ...actions,
          deletion((opened) => <DeleteElement element={element} {...opened} />),
        ]}
      />
    </Group>
  );
}

function DeleteElement({ element, ...opened }: DialogProps & { element: Element }) {
  const { elementId: id, name: title } = element;
  const removal = useDeleteLater({ id, title, remove: (last) => last.elements.delete(id) }, opened.onClose);
  return (
    <DeleteDialog {...opened} noun="element" removal={removal}>
      “{title}” will be deleted and removed from every film. Takes made with it are kept. You can undo it for ten
      seconds.
    </DeleteDialog>
  );
}
