"""Where the description is fetched."""

from flask import Blueprint, Response

from .. import parameters
from .assembly import encoded

blueprint = Blueprint("openapi", __name__)


@blueprint.get("/openapi.json")
def get_description() -> Response:
    """The OpenAPI document of this collector; any page may read it."""
    parameters.none()
    response = Response(encoded(), mimetype="application/json")
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
