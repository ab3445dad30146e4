import { Anchor } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { Link, useLocation } from "react-router";
import { useServices } from "../app/services-context.ts";
import { ConfirmAddress } from "./ConfirmAddress.tsx";
import { CredentialFields, type Credentials } from "./CredentialFields.tsx";
import { checkEmail, checkNewPassword } from "./check-fields.ts";
import { focusFirstError } from "./focus-first-error.ts";
import { pageAddress } from "./page-address.ts";
import { SessionForm } from "./SessionForm.tsx";
import { useAuthForm } from "./use-auth-form.ts";

/** Where a project asks for confirmed addresses there is no session yet: a mail is on its way instead. */
export function Component() {
  const { auth } = useServices();
  const { search } = useLocation();
  const [unconfirmed, setUnconfirmed] = useState<string | null>(null);
  const { run, isBusy, problem } = useAuthForm(async (credentials: Credentials) => {
    const answer = await auth.signUp({ ...credentials, options: { emailRedirectTo: pageAddress() } });
    if (!answer.error && answer.data.session === null) setUnconfirmed(credentials.email);
    return answer;
  });
  const form = useForm<Credentials>({
    mode: "uncontrolled",
    initialValues: { email: "", password: "" },
    validate: { email: checkEmail, password: checkNewPassword },
  });
  if (unconfirmed !== null) return <ConfirmAddress email={unconfirmed} />;
  return (
    <SessionForm
      title="Create an account"
      submit="Create account"
      problem={problem}
      isBusy={isBusy}
      onSubmit={form.onSubmit((values) => run(values), focusFirstError(form))}
      links={
        <Anchor component={Link} to={`/sign-in${search}`} size="sm">
          You have one? Sign in
        </Anchor>
      }
    >
      <CredentialFields form={form} isNew />
    </SessionForm>
  );
}
