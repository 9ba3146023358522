"""The ClientApp: it answers a request with noised integers out of the node's journal, or with a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from discreet.federated.flower.house import House, Terms, refusing
from discreet.federated.flower.records import (
    RefusedError,
    Request,
    read_secure,
    refusal_record,
    secure_reply,
    update_record,
)
from discreet.federated.flower.secure_house import secure_answer


@contextmanager
def _house_of(context: Context) -> Iterator[House]:
    """The house that a SuperNode's own configuration describes, opened for one message."""
    with refusing():
        house = House(Terms.read(context.node_config))
    try:
        yield house
    finally:
        house.close()


def make_app(house: House | None = None) -> ClientApp:
    """The app around a house that is open already, or around the one that each message's context describes."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        try:
            request = Request.read(message.content)
            if house is not None:
                content = update_record(house.update(request))
            else:
                with _house_of(context) as own:
                    content = update_record(own.update(request))
        except RefusedError as error:
            content = refusal_record(error.reason)
        return Message(content, reply_to=message)

    @app.query()
    def query(message: Message, context: Context) -> Message:
        try:
            request, step = Request.read(message.content), read_secure(message.content)
            if house is not None:
                content = secure_reply(secure_answer(house, request, step))
            else:
                with _house_of(context) as own:
                    content = secure_reply(secure_answer(own, request, step))
        except RefusedError as error:
            content = refusal_record(error.reason)
        return Message(content, reply_to=message)

    return app


app = make_app()
